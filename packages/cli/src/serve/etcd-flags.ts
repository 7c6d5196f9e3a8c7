// SPDX-License-Identifier: Apache-2.0
// Flags to use etcd instead of the embedded store, for the commands that start a cluster: several of them can share one
// state.

import type { Store } from "@merlon/cluster/store"
import { type Command, Option } from "commander"
import { several } from "../arguments.js"

export interface EtcdFlags {
  readonly etcd: readonly string[]
  readonly etcdPrefix?: string
  readonly etcdCa?: string
  readonly etcdCert?: string
  readonly etcdKey?: string
  readonly etcdUser?: string
}

export function withEtcdFlags(command: Command): Command {
  const option = (flags: string, description: string, env: string): Option => new Option(flags, description).env(env)
  return command
    .addOption(
      option("--etcd <endpoint>", "store objects in this etcd (repeatable)", "MERLON_ETCD")
        .argParser(several)
        .default([], "the embedded store"),
    )
    .addOption(option("--etcd-prefix <key>", "prefix of all keys in etcd (default: /merlon)", "MERLON_ETCD_PREFIX"))
    .addOption(option("--etcd-ca <file>", "CA of etcd's certificate", "MERLON_ETCD_CA"))
    .addOption(option("--etcd-cert <file>", "client certificate for etcd", "MERLON_ETCD_CERT"))
    .addOption(option("--etcd-key <file>", "key of the client certificate", "MERLON_ETCD_KEY"))
    .addOption(option("--etcd-user <name>", "log in to etcd; the password is MERLON_ETCD_PASSWORD", "MERLON_ETCD_USER"))
}

/** Undefined if no etcd is configured. Options without an etcd address are rejected. */
export async function etcdStore(flags: EtcdFlags, env: NodeJS.ProcessEnv): Promise<Store | undefined> {
  const { etcd, etcdPrefix, etcdCa, etcdCert, etcdKey, etcdUser } = flags
  const isSilent = [etcdPrefix, etcdCa, etcdCert, etcdKey, etcdUser].every(flag => flag === undefined)
  // Most users have no etcd, and loading its client with gRPC took a twentieth of the startup time.
  if (etcd.length === 0 && isSilent) return undefined
  const { etcdOptions, openEtcdStore } = await import("@merlon/cluster/etcd")
  const options = etcdOptions(
    {
      etcd: etcd.length === 0 ? undefined : [...etcd],
      "etcd-prefix": etcdPrefix,
      "etcd-ca": etcdCa,
      "etcd-cert": etcdCert,
      "etcd-key": etcdKey,
      "etcd-user": etcdUser,
    },
    env,
  )
  return options && (await openEtcdStore(options))
}
