// SPDX-License-Identifier: Apache-2.0
// Finds the revision to which etcd has been compacted. etcd has no call for it, but it rejects a watch from the
// beginning with that number. If it accepts the watch, it sends the first change of its key, the format marker, which
// is never deleted.

import type { Connection } from "./connection.js"
import { isServiceError, readFailure } from "./failure.js"
import type { KeyNames } from "./key-names.js"
import { encodeWatchCreate, type WatchResponse } from "./messages.js"

export async function forgottenRevision(connection: Connection, names: KeyNames): Promise<number> {
  const stream = await connection.watch()
  const deadline = setTimeout(() => stream.cancel(), connection.timeoutMs)
  try {
    return await new Promise<number>((resolve, reject) => {
      stream.on("error", reject)
      stream.on("end", () => reject(new Error("etcd ended the watch")))
      stream.on("data", (response: WatchResponse) => {
        if (response.compactRevision > 0) resolve(response.compactRevision)
        else if (response.canceled) reject(new Error(response.cancelReason))
        else if (response.events.length > 0) resolve(0)
      })
      stream.write(encodeWatchCreate({ key: names.format, rangeEnd: `${names.format}\0`, startRevision: 1 }))
    })
  } catch (error) {
    throw isServiceError(error) ? readFailure(error) : error
  } finally {
    clearTimeout(deadline)
    stream.on("error", () => undefined)
    stream.cancel()
  }
}
