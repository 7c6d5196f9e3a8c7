// SPDX-License-Identifier: Apache-2.0
// Opens the connection to the cluster that the flags choose, and turns failures of the API into errors that name that cluster. No
// other file of the commands reads a kubeconfig.

import { existsSync } from "node:fs"
import { dirname } from "node:path"
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
  const local = localMesh(flags)
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
    throw error instanceof ApiError ? userError(error, connection.origin, local) : error
  } finally {
    await api.close()
  }
}

/** Sent by a gateway in front of the API server, or by an API server that cannot reach its own backend. */
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** A failure of the API as the error that a user reads; `local` is the data folder if the cluster is a local mesh. */
export function userError(failure: ApiError, origin: string, local?: string): CommandError {
  const message = visibleLines(failure.message)
  if (local !== undefined && failure.code === 0 && message.includes("ECONNREFUSED")) {
    return new CommandError(
      "api-unreachable",
      `the local mesh in \`${local}\` is not running; start it with \`merlonctl up\` (${origin})`,
    )
  }
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

/** The kubeconfig of the local mesh, unless the user chose another cluster. */
function localChoice({ kubeconfig }: ClusterFlags): string | undefined {
  const { KUBECONFIG = "", MERLON_DATA } = process.env
  if (kubeconfig !== undefined || KUBECONFIG !== "") return undefined
  return namedKubeconfig(MERLON_DATA) ?? localKubeconfig(process.cwd())
}

function localMesh(flags: ClusterFlags): string | undefined {
  const file = localChoice(flags)
  return file === undefined ? undefined : dirname(file)
}

export function connectionOf(flags: ClusterFlags): Connection {
  checkCluster()
  const { env } = process
  const { context } = flags
  const local = localChoice(flags)
  if (local !== undefined && !existsSync(local)) {
    throw new CommandError(
      "no-api",
      `no local mesh in MERLON_DATA=\`${env.MERLON_DATA}\`; start one with \`merlonctl up\`, or unset MERLON_DATA to use another cluster`,
    )
  }
  const chosen = flags.kubeconfig ?? local
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
