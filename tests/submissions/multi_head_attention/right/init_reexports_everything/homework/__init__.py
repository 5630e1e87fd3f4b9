"""homework package"""
