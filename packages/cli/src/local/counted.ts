// SPDX-License-Identifier: Apache-2.0
// A number with its noun in singular or plural.

export function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}
