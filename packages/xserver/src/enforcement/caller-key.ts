// SPDX-License-Identifier: Apache-2.0
// The caller that shares are counted for: the identity that it proved, else its address.

import type { Connection } from "@merlon/policy/authorization"
import { addressKey } from "@merlon/wire/limits"

export function callerKey({ peer, sourceIp }: Pick<Connection, "peer" | "sourceIp">): string {
  return peer === undefined ? addressKey(sourceIp) : peer.uri
}
