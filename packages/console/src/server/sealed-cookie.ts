// SPDX-License-Identifier: Apache-2.0
// An encrypted value that the browser stores for us. Only this process can read or change it, so requests of
// unauthenticated clients use no memory here. Each value has its own key, because such clients may request more values
// than one AES-GCM key can safely encrypt.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto"

const ALGORITHM = "aes-256-gcm"
const SALT_BYTES = 32
const TAG_BYTES = 16
/** A fixed IV is safe, because each value has a new key. */
const IV = Buffer.alloc(12)

export class SealedCookie {
  readonly #key = randomBytes(32)

  seal(value: unknown): string {
    const salt = randomBytes(SALT_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#keyFor(salt), IV)
    const sealed = [cipher.update(JSON.stringify(value)), cipher.final()]
    return Buffer.concat([salt, cipher.getAuthTag(), ...sealed]).toString("base64url")
  }

  /** Undefined for a value that was not sealed here. */
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
