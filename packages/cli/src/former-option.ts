// SPDX-License-Identifier: Apache-2.0
// An option under the name it had in earlier releases: scripts that use it keep working, help and completion do not show it.

import { Option } from "commander"

export class FormerOption extends Option {
  readonly #current: Option

  constructor(flags: string, current: Option) {
    super(flags)
    this.#current = current
    this.hideHelp()
    if (current.parseArg !== undefined) this.parseArg = current.parseArg
  }

  /** Both names set the same value. */
  override attributeName(): string {
    return this.#current.attributeName()
  }
}
