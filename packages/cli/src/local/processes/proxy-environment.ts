// SPDX-License-Identifier: Apache-2.0
// The variables that make an ordinary program send its calls to its workload's proxy, which makes them over mTLS under
// the workload's identity. curl, Python and Go read `http_proxy`, gRPC reads `grpc_proxy`, and Node needs its own flag.

import type { Place } from "../record/mesh-record.js"

/**
 * Holds our proxy address again, to recognize it: a shell in one workload that runs a program in another must not pass
 * its proxy on.
 */
export const OWN_PROXY = "MERLON_HTTP_PROXY"

/** Loopback is this machine and not the mesh. Programs support different notations of the range. */
const LOOPBACK = "localhost,127.0.0.1,::1,127.0.0.0/8"

/** Variables that the user set win, in either case of letters: a user who sets a proxy means it. */
export function withProxyEnvironment(
  env: NodeJS.ProcessEnv,
  { address, outbound }: Pick<Place, "address" | "outbound">,
): NodeJS.ProcessEnv {
  if (outbound === undefined) return env
  const url = `http://${address}:${outbound}`
  const unlessSet = (names: readonly string[], value: string): NodeJS.ProcessEnv =>
    names.some(name => env[name] !== undefined) ? {} : Object.fromEntries(names.map(name => [name, value]))
  return {
    ...unlessSet(["http_proxy", "HTTP_PROXY"], url),
    ...unlessSet(["grpc_proxy"], url),
    ...unlessSet(["no_proxy", "NO_PROXY"], LOOPBACK),
    ...unlessSet(["NODE_USE_ENV_PROXY"], "1"),
    ...env,
    [OWN_PROXY]: url,
  }
}
