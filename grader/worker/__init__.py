"""The process that runs the student's code, and the two ends of the socket to it."""
