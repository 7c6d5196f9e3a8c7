// SPDX-License-Identifier: Apache-2.0
// From flags to a cluster. The only place of the commands that knows how a kubeconfig becomes a connection, and where a
// failure learns which cluster it came from.

import { ApiError, type Connection, ConnectionError, connectionFrom, Transport } from "@merlon/control/kubernetes"
import { onlyAnswers } from "./api/only-answers.js"
import { Catalog } from "./catalog/catalog.js"
import { CommandError, EXIT } from "./exit.js"
import type { ClusterFlags } from "./flags.js"
import { localKubeconfig, namedKubeconfig } from "./local-kubeconfig.js"
import { discoverMesh } from "./mesh/discover-mesh.js"
import type { Session } from "./session.js"
import { visibleLines, warn } from "./terminal.js"

export async function withSession<T>(flags: ClusterFlags, work: (session: Session) => Promise<T>): Promise<T> {
  const connection = connectionOf(flags)
  const transport = new Transport(connection, { userAgent: "merlonctl", timeoutMs: flags.requestTimeout * 1000, warn })
  const api = onlyAnswers(transport)
  try {
    const { names, installed } = await discoverMesh(api, flags)
    return await work({
      api,
      catalog: new Catalog(api, names),
      names,
      installed,
      namespace: flags.namespace ?? connection.namespace ?? "default",
      askedNamespace: flags.namespace,
      origin: connection.origin,
    })
  } catch (error) {
    throw error instanceof ApiError ? told(error, connection.origin) : error
  } finally {
    await api.close()
  }
}

/** Said by a gateway in front, or of a server behind: nobody has answered who could. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** A failure of the API as the sentence that a person reads. */
export function told(failure: ApiError, origin: string): CommandError {
  const message = visibleLines(failure.message)
  if (failure.code === 0) return new CommandError(`${message} (${origin})`, EXIT.unreachable)
  if (failure.code === 401) {
    return new CommandError(`${origin} is not believed by the server; log in again, or choose another context`)
  }
  if (AWAY.has(failure.code)) return new CommandError(`${message} (${origin})`, EXIT.unreachable)
  if (failure.code === 403 || failure.code === 429) return new CommandError(`${message} (${origin})`)
  return new CommandError(message)
}

export function connectionOf({ kubeconfig, context }: ClusterFlags): Connection {
  const { env } = process
  const listed = (env.KUBECONFIG ?? "") !== ""
  const chosen =
    kubeconfig ?? (listed ? undefined : (namedKubeconfig(env.MERLON_DATA) ?? localKubeconfig(process.cwd())))
  try {
    return connectionFrom({
      env,
      warn,
      ...(chosen === undefined ? {} : { kubeconfig: chosen }),
      ...(context === undefined ? {} : { context }),
    })
  } catch (error) {
    if (error instanceof ConnectionError) throw new CommandError(error.message, EXIT.unreachable)
    throw error
  }
}
