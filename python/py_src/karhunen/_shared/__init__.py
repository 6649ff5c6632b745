"""Modules shared by several estimators, which import none of them."""
