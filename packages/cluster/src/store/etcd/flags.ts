// SPDX-License-Identifier: Apache-2.0
// Command-line flags for etcd: endpoints, certificate files, prefix and user. The password comes from the environment,
// because other users can read command lines.

import { readFileSync } from "node:fs"
import { ClusterError } from "../../errors.js"
import type { EtcdOptions } from "./connection.js"

/** Options for `parseArgs`. */
export const etcdFlags = {
  etcd: { type: "string", multiple: true },
  "etcd-ca": { type: "string" },
  "etcd-cert": { type: "string" },
  "etcd-key": { type: "string" },
  "etcd-prefix": { type: "string" },
  "etcd-user": { type: "string" },
} as const

type Values = { etcd?: string[] | undefined } & {
  [flag in Exclude<keyof typeof etcdFlags, "etcd">]?: string | undefined
}

const PASSWORD_VARIABLE = "MERLON_ETCD_PASSWORD"

/** Returns undefined if no etcd is configured; the embedded store is used then. */
export function etcdOptions(values: Values, environment: NodeJS.ProcessEnv): EtcdOptions | undefined {
  const { etcd: endpoints = [], "etcd-prefix": prefix, "etcd-user": name } = values
  if (endpoints.length === 0) {
    const stray = (Object.keys(etcdFlags) as (keyof Values)[]).find(flag => values[flag] !== undefined)
    if (stray !== undefined)
      throw new ClusterError("invalid-flag", `\`--${stray}\` needs an etcd: add --etcd https://host:2379`)
    return undefined
  }
  if ((values["etcd-cert"] === undefined) !== (values["etcd-key"] === undefined))
    throw new ClusterError("invalid-flag", "`--etcd-cert` and `--etcd-key` go together, give both")
  const ca = file("etcd-ca", values)
  const certificate = file("etcd-cert", values)
  const key = file("etcd-key", values)
  return {
    endpoints,
    tls: { ...(ca && { ca }), ...(certificate && { certificate }), ...(key && { key }) },
    ...(prefix === undefined ? {} : { prefix }),
    ...(name === undefined ? {} : { user: { name, password: password(name, environment) } }),
  }
}

function password(user: string, environment: NodeJS.ProcessEnv): string {
  const found = environment[PASSWORD_VARIABLE]
  if (found === undefined)
    throw new ClusterError("invalid-flag", `\`--etcd-user ${user}\` needs a password in ${PASSWORD_VARIABLE}`)
  return found
}

function file(flag: "etcd-ca" | "etcd-cert" | "etcd-key", values: Values): Buffer | undefined {
  const path = values[flag]
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ClusterError("invalid-flag", `\`--${flag} ${path}\` cannot be read`, { cause: error })
  }
}
