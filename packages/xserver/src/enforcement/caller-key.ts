// SPDX-License-Identifier: Apache-2.0
// The key by which limits count callers: the proven identity, else the address.

import type { Connection } from "@merlon/policy/authorization"
import { addressKey } from "@merlon/wire/limits"

export function callerKey({ peer, sourceIp }: Pick<Connection, "peer" | "sourceIp">): string {
  return peer === undefined ? addressKey(sourceIp) : peer.uri
}
