// SPDX-License-Identifier: Apache-2.0
// Whether LevelDB failed to open because another process has the folder open.

export function isLocked(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && "code" in cause && cause.code === "LEVEL_LOCKED"
}
