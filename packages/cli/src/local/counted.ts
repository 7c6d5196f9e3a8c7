// SPDX-License-Identifier: Apache-2.0
// A number with its noun, as people say it.

export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}
