// SPDX-License-Identifier: Apache-2.0
// The namespace of a document. `-n` and the document must agree: a policy in an unexpected namespace protects something
// else.

import type { AnyObject, Resource } from "../catalog/resource.js"
import { CommandError } from "../exit.js"
import type { Session } from "../session.js"

export function namespaceOf(
  { kind, metadata }: AnyObject,
  { namespaced }: Resource,
  session: Pick<Session, "namespace" | "askedNamespace">,
): string | undefined {
  if (!namespaced) return undefined
  const { askedNamespace } = session
  const ownNamespace = metadata.namespace
  if (ownNamespace !== undefined && askedNamespace !== undefined && ownNamespace !== askedNamespace) {
    throw new CommandError(
      "usage",
      `${kind} \`${metadata.name}\` says namespace \`${ownNamespace}\`, \`-n\` says \`${askedNamespace}\`; leave one of them out`,
    )
  }
  return ownNamespace ?? session.namespace
}
