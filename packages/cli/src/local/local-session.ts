// SPDX-License-Identifier: Apache-2.0
// A connection to the local mesh's cluster, regardless of the environment's kubeconfig.

import { join } from "node:path"
import { withSession } from "../ctl/connect.js"
import type { Session } from "../ctl/session.js"

export interface LocalCluster {
  readonly data: string
  readonly mesh: string
  readonly domain: string
}

const REQUEST_TIMEOUT_SECONDS = 60

export function withLocalSession<T>(
  { data, mesh, domain }: LocalCluster,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return withSession(
    { kubeconfig: join(data, "kubeconfig"), mesh, domain, requestTimeout: REQUEST_TIMEOUT_SECONDS },
    work,
  )
}
