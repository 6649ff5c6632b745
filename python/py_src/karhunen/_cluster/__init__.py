"""Fits of data in parts: the work of a part, and the driver, which engines share."""
