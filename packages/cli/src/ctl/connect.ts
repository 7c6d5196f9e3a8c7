// SPDX-License-Identifier: Apache-2.0
// From flags to a cluster. The only place of the commands that knows how a kubeconfig becomes a connection, and where a
// failure learns which cluster it came from.

import {
  ApiError,
  type Connection,
  ConnectionError,
  connectionFrom,
  isNoAnswerCode,
  type NoAnswerCode,
  Transport,
} from "@merlon/control/kubernetes"
import { onlyAnswers } from "./api/only-answers.js"
import { Catalog } from "./catalog/catalog.js"
import { checkCluster } from "./confinement.js"
import { CommandError } from "./exit.js"
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

/** Sent by a gateway in front of the API server, or by an API server that cannot reach its own backend. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** A failure of the API as the error that a person reads. */
export function told(failure: ApiError, origin: string): CommandError {
  const message = visibleLines(failure.message)
  if (failure.code === 0) return new CommandError(noAnswerCode(failure.reason), `${message} (${origin})`)
  if (failure.code === 401) {
    return new CommandError(
      "unauthorized",
      `the server rejected the credentials of ${origin}; log in again, or choose another context with \`--context\``,
    )
  }
  if (AWAY.has(failure.code)) return new CommandError("server-unavailable", `${message} (${origin})`)
  if (failure.code === 403 && failure.reason === "Forbidden" && / cannot [a-z]+ /.test(message)) {
    const help = "ask an administrator for this permission, or choose another context with `--context`"
    return new CommandError("forbidden", `${message} (${origin}); ${help}`)
  }
  if (failure.code === 429) return new CommandError("too-many-requests", `${message} (${origin})`)
  return new CommandError("rejected", failure.code === 403 ? `${message} (${origin})` : message)
}

function noAnswerCode(reason: string): NoAnswerCode {
  return isNoAnswerCode(reason) ? reason : "api-unreachable"
}

export function connectionOf({ kubeconfig, context }: ClusterFlags): Connection {
  checkCluster()
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
    if (error instanceof ConnectionError) throw new CommandError(error.code, error.message)
    throw error
  }
}
