// SPDX-License-Identifier: Apache-2.0
// The file of `--providers`: the external authorizers that CUSTOM policies may name. Fail closed, and at the start: a declaration that
// cannot be used would only be noticed when every request that needs it is denied.

import { X509Certificate } from "node:crypto"
import { dirname, resolve } from "node:path"
import { type AuthorizationProvider, readProviderSettings } from "@merlon/policy/mesh"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"
import { parse } from "yaml"

export function readProviderFile(file: string): readonly AuthorizationProvider[] {
  try {
    const folder = dirname(resolve(file))
    return readProviderSettings(parse(readUtf8File(file)), path => certificateIn(resolve(folder, path)))
  } catch (error) {
    throw new Error(`cannot use \`${file}\` as \`--providers\`: ${messageOf(error)}`)
  }
}

function certificateIn(file: string): string {
  const text = readUtf8File(file)
  new X509Certificate(text)
  return text
}
