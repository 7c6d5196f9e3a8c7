// SPDX-License-Identifier: Apache-2.0
// A process with its own wall clock, which a test sets while it runs. libfaketime intercepts the system calls; timers
// use the monotonic clock, as when a machine's clock is set.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { faketimeLibrary } from "../../runner/programs.js"

export class WrongClock {
  readonly #folder = mkdtempSync(join(tmpdir(), "merlon-clock-"))

  constructor() {
    this.set("+0")
  }

  get env(): { readonly [name: string]: string } {
    return {
      LD_PRELOAD: faketimeLibrary() ?? "",
      FAKETIME_TIMESTAMP_FILE: join(this.#folder, "time"),
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      // Reading the file whenever the process reads the clock would make it slow.
      FAKETIME_CACHE_DURATION: "1",
    }
  }

  /** An offset such as `+1h` or `-1y`; `+0` is the right time. */
  set(offset: string): void {
    const file = join(this.#folder, "time")
    writeFileSync(`${file}.new`, offset)
    renameSync(`${file}.new`, file)
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
