// SPDX-License-Identifier: Apache-2.0
// The file of `--providers`: the external authorizers that CUSTOM policies may name. Fail closed at startup: an invalid
// declaration would otherwise be noticed only when every request that needs it is denied.

import { X509Certificate } from "node:crypto"
import { dirname, resolve } from "node:path"
import { type AuthorizationProvider, readProviderSettings } from "@merlon/policy/mesh"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"
import { parse } from "yaml"

export function readProviderFile(file: string): readonly AuthorizationProvider[] {
  try {
    const folder = dirname(resolve(file))
    const declared: unknown = parse(readUtf8File(file))
    // Kubernetes mounts the value `providers` of an installation, which is only the list.
    const settings = Array.isArray(declared) ? { providers: declared } : declared
    return readProviderSettings(settings, ca => certificateIn(ca, folder))
  } catch (error) {
    throw new Error(`cannot use \`${file}\` as \`--providers\`: ${messageOf(error)}`)
  }
}

/** `ca` is a file name or PEM text. */
function certificateIn(ca: string, folder: string): string {
  const text = ca.startsWith("-----BEGIN CERTIFICATE-----") ? ca : readUtf8File(resolve(folder, ca))
  new X509Certificate(text)
  return text
}
