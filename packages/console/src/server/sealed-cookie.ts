// SPDX-License-Identifier: Apache-2.0
// A value that the browser keeps for us: only this process can read or change it, so that requests of strangers take no
// memory here. Each has its own key, since strangers may ask for more of them than one AES-GCM key is good for.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto"

const ALGORITHM = "aes-256-gcm"
const SALT_BYTES = 32
const TAG_BYTES = 16
/** The key is new each time. */
const IV = Buffer.alloc(12)

export class SealedCookie {
  readonly #key = randomBytes(32)

  seal(value: unknown): string {
    const salt = randomBytes(SALT_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keyFor(salt), IV)
    const sealed = [cipher.update(JSON.stringify(value)), cipher.final()]
    return Buffer.concat([salt, cipher.getAuthTag(), ...sealed]).toString("base64url")
  }

  /** Undefined for what was not sealed here. */
  open(text: string): unknown {
    const bytes = Buffer.from(text, "base64url")
    const [salt, tag, sealed] = [
      bytes.subarray(0, SALT_BYTES),
      bytes.subarray(SALT_BYTES, SALT_BYTES + TAG_BYTES),
      bytes.subarray(SALT_BYTES + TAG_BYTES),
    ]
    if (tag.length !== TAG_BYTES) return undefined
    try {
      const decipher = createDecipheriv(ALGORITHM, this.#keyFor(salt), IV, { authTagLength: TAG_BYTES }).setAuthTag(tag)
      return JSON.parse(Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8"))
    } catch {
      return undefined
    }
  }

  #keyFor(salt: Buffer): Buffer {
    return createHmac("sha256", this.#key).update(salt).digest()
  }
}
