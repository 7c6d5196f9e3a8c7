// SPDX-License-Identifier: Apache-2.0
// An invitation as one word that a user copies to another machine: the control plane's address, the root to trust, the
// identity, and the single-use token. Anyone who has the word can join, so it is short-lived.

import { X509Certificate } from "node:crypto"
import { CommandError } from "../exit.js"
import { fieldsOf, textOf } from "../foreign.js"

export interface Invitation {
  readonly mesh: string
  readonly domain: string
  readonly controlPlane: string
  readonly serverName?: string
  readonly namespace: string
  readonly name: string
  readonly serviceAccount: string
  /** PEM: the roots of the mesh. No other control plane is contacted. */
  readonly trustBundle: string
  readonly token: string
}

const PREFIX = "merlon-invitation."
const MAX_LENGTH = 65_536
/** A valid object name. It becomes the name of a folder here, and must be shown as it is. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const ADDRESS = /^[\x21-\x7e]+$/

export function writeInvitation(invitation: Invitation): string {
  return `${PREFIX}${Buffer.from(JSON.stringify(invitation)).toString("base64url")}`
}

export function readInvitation(text: string): Invitation {
  const word = text.trim()
  if (!word.startsWith(PREFIX) || word.length > MAX_LENGTH) {
    throw new CommandError(
      "invalid-invitation",
      "that is no invitation; `merlonctl invite` on a machine of the mesh prints one, in one line",
    )
  }
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(word.slice(PREFIX.length), "base64url").toString("utf8"))
  } catch {
    throw new CommandError("invalid-invitation", "the invitation is not whole; copy all of its line")
  }
  const fields = fieldsOf(value)
  const text_ = (name: keyof Invitation, form = /./): string => {
    const found = textOf(fields[name])
    if (found === undefined || found === "")
      throw new CommandError("invalid-invitation", `the invitation has no \`${name}\`; ask for another one`)
    if (!form.test(found))
      throw new CommandError("invalid-invitation", `the invitation's \`${name}\` is none; ask for another one`)
    return found
  }
  const serverName = fields.serverName === undefined ? undefined : text_("serverName", ADDRESS)
  return {
    mesh: text_("mesh", NAME),
    domain: text_("domain", NAME),
    controlPlane: text_("controlPlane", ADDRESS),
    ...(serverName === undefined ? {} : { serverName }),
    namespace: text_("namespace", NAME),
    name: text_("name", NAME),
    serviceAccount: text_("serviceAccount", NAME),
    trustBundle: text_("trustBundle"),
    token: text_("token"),
  }
}

/** The SHA-256 of each root, for two users to compare. */
export function fingerprints(trustBundle: string): readonly string[] {
  const certificates = trustBundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return certificates.map(pem => new X509Certificate(pem).fingerprint256)
  } catch {
    throw new CommandError(
      "invalid-invitation",
      "the invitation holds no certificate that can be read; ask for another one",
    )
  }
}
