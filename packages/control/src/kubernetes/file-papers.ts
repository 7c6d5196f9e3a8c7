// SPDX-License-Identifier: Apache-2.0
// Papers that lie in files and are replaced there from outside. Read again after a minute at the latest, as the kubelet
// renews tokens well before they end; a file that cannot be read now leaves what was read before.

import { readFile } from "node:fs/promises"
import type { Papers } from "./connection.js"
import { ConnectionError } from "./connection.js"
import type { Time } from "./time.js"

export type PaperFiles = { readonly [Name in keyof Papers]?: string }

const READ_AGAIN_MS = 60_000

export class FilePapers {
  readonly #files: PaperFiles
  readonly #time: Time
  #known: Papers = {}
  #readAt: number | undefined

  constructor(files: PaperFiles, time: Time) {
    this.#files = files
    this.#time = time
  }

  async papers(): Promise<Papers> {
    if (this.#readAt !== undefined && this.#time.monotonic() - this.#readAt < READ_AGAIN_MS) return this.#known
    const read: Record<string, string> = {}
    for (const [name, path] of Object.entries(this.#files)) {
      read[name] = await this.#read(name as keyof Papers, path) // the type's only keys
    }
    this.#known = read
    this.#readAt = this.#time.monotonic()
    return this.#known
  }

  refused(): void {
    this.#readAt = undefined
  }

  async #read(name: keyof Papers, path: string): Promise<string> {
    try {
      const text = await readFile(path, "utf8")
      return name === "token" ? text.trim() : text
    } catch (error) {
      const earlier = this.#known[name]
      if (earlier !== undefined) return earlier
      throw new ConnectionError(
        "papers-unreadable",
        `cannot read the ${name} in \`${path}\`: ${(error as Error).message}`,
        { cause: error },
      )
    }
  }
}
