// SPDX-License-Identifier: Apache-2.0
// Which namespace a document goes to. What `-n` says and what the document says must agree: a policy in another namespace
// than its author thinks protects something else.

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
  const said = metadata.namespace
  if (said !== undefined && askedNamespace !== undefined && said !== askedNamespace) {
    throw new CommandError(
      "usage",
      `${kind} \`${metadata.name}\` says namespace \`${said}\`, \`-n\` says \`${askedNamespace}\`; leave one of them out`,
    )
  }
  return said ?? session.namespace
}
