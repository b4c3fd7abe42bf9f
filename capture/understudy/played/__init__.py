"""Captures a step that does not run: the user's script on tensors without contents (docs/capture.md, "Without the hardware")."""
