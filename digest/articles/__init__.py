"""Articles: item bodies and full texts prepared for reading here, and their pictures."""
