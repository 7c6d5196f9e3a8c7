// SPDX-License-Identifier: Apache-2.0
// Keeps the caller's key and certificate between runs: a check that runs every minute need not get a new one each time.
// If the file cannot be read or written, it is ignored.

import { certificateFacts } from "@merlon/identity"
import type { WorkloadCredentials } from "@merlon/xds/client"
import { readCheckedFile, writeCheckedFile } from "@merlon/xds/runtime"

const NAME = "xclient-credentials.json"

export function savedCredentials(folder: string | undefined): WorkloadCredentials | undefined {
  try {
    const text = folder === undefined ? undefined : readCheckedFile(folder, NAME)
    if (text === undefined) return undefined
    const { certificateChain, privateKey } = JSON.parse(text)
    if (typeof certificateChain !== "string" || typeof privateKey !== "string") return undefined
    certificateFacts(certificateChain)
    return { certificateChain, privateKey }
  } catch {
    return undefined
  }
}

export function keepCredentials(folder: string | undefined, credentials: WorkloadCredentials): void {
  if (folder === undefined) return
  try {
    writeCheckedFile(folder, NAME, JSON.stringify(credentials))
  } catch {
    // The folder may belong to the proxy in the same Pod; the next run then requests a certificate again.
  }
}
