// SPDX-License-Identifier: Apache-2.0
// The host to bind to. `::` means every address of the machine, IPv4 and IPv6. Node binds a server without a host to
// that, and to every IPv4 address if the machine has no IPv6; a server that names `::` fails there.

export function bindHost(host: string): string | undefined {
  return host === "::" ? undefined : host
}
