// SPDX-License-Identifier: Apache-2.0
// The key that signs links to the console: in the data folder, readable by its owner, who has the administrator's
// kubeconfig there anyway.

import { randomBytes } from "node:crypto"
import { OneTimeCodes } from "@merlon/console/one-time-codes"
import { readPrivateFile, writePrivateFile } from "@merlon/xds/runtime"

const NAME = "console-key"

/** Creates the key if it does not exist. */
export function consoleCodes(data: string): OneTimeCodes {
  const kept = keptCodes(data)
  if (kept !== undefined) return kept
  const key = randomBytes(32)
  writePrivateFile(data, NAME, key.toString("base64url"))
  return new OneTimeCodes(key)
}

export function keptCodes(data: string): OneTimeCodes | undefined {
  const key = Buffer.from(readPrivateFile(data, NAME) ?? "", "base64url")
  return key.length === 32 ? new OneTimeCodes(key) : undefined
}
