// SPDX-License-Identifier: Apache-2.0
// An option under its name in earlier releases. Scripts that use it keep working; help and completion do not show it.

import { Option } from "commander"

export class FormerOption extends Option {
  readonly #current: Option

  constructor(flags: string, current: Option) {
    super(flags)
    this.#current = current
    this.hideHelp()
    if (current.parseArg !== undefined) this.parseArg = current.parseArg
  }

  /** The key of the current option: both names set the same value. */
  override attributeName(): string {
    return this.#current.attributeName()
  }
}
