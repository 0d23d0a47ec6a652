"""Small BVH files as text, for tests of the readers."""

from __future__ import annotations

ARM = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Spine
  {
    OFFSET 0 50 0
    CHANNELS 3 Xrotation Yrotation Zrotation
    JOINT Hand
    {
      OFFSET 30 20 0
      CHANNELS 1 Yrotation
      End Site
      {
        OFFSET 35 0 0
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0083333
0 90 0 10 20 30 40 50 60 70
1 91 2 11 21 31 41 51 61 71
2.5 92.25 4 12.125 22 32 42 52 62 72
"""
