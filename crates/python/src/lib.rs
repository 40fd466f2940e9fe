//! svod-python
