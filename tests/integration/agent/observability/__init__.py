"""Tests of what people and programs are told."""
