// SPDX-License-Identifier: Apache-2.0
// Credentials in files that are replaced externally. They are read again after at most a minute, which is enough
// because the kubelet renews tokens well before they expire. If a file cannot be read, the previous contents stay in
// use.

import { readFile } from "node:fs/promises"
import type { Credentials } from "./connection.js"
import { ConnectionError } from "./connection.js"
import type { Time } from "./time.js"

export type CredentialFiles = { readonly [Name in keyof Credentials]?: string }

const READ_AGAIN_MS = 60_000

export class FileCredentials {
  readonly #files: CredentialFiles
  readonly #time: Time
  #known: Credentials = {}
  #readAt: number | undefined

  constructor(files: CredentialFiles, time: Time) {
    this.#files = files
    this.#time = time
  }

  async credentials(): Promise<Credentials> {
    if (this.#readAt !== undefined && this.#time.monotonic() - this.#readAt < READ_AGAIN_MS) return this.#known
    const read: Record<string, string> = {}
    for (const [name, path] of Object.entries(this.#files)) {
      read[name] = await this.#read(name as keyof Credentials, path) // the type has no other keys
    }
    this.#known = read
    this.#readAt = this.#time.monotonic()
    return this.#known
  }

  rejected(): void {
    this.#readAt = undefined
  }

  async #read(name: keyof Credentials, path: string): Promise<string> {
    try {
      const text = await readFile(path, "utf8")
      return name === "token" ? text.trim() : text
    } catch (error) {
      const earlier = this.#known[name]
      if (earlier !== undefined) return earlier
      throw new ConnectionError(
        "credentials-unreadable",
        `cannot read the ${name} in \`${path}\`: ${(error as Error).message}`,
        { cause: error },
      )
    }
  }
}
