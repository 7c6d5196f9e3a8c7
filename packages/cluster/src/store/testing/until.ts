// SPDX-License-Identifier: Apache-2.0
//
// Waits for something that must become true; how fast is no test's business. Fails by the test's own time limit.

export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 5))
}
