// SPDX-License-Identifier: Apache-2.0
// A new policy from a template.

import { type ReactNode, useMemo, useState } from "react"
import { useTrustDomain } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useSession } from "../../shell/session.js"
import { PageHead } from "../../ui/card.js"
import { Skeleton } from "../../ui/loaded.js"
import { PolicyEditor } from "./policy-editor.js"
import { TEMPLATES } from "./templates.js"

export default function NewPolicy(): ReactNode {
  const trustDomain = useTrustDomain()
  // The text must not change while somebody edits it.
  return trustDomain === undefined ? <Skeleton /> : <Beginning trustDomain={trustDomain} />
}

function Beginning({ trustDomain: first }: { readonly trustDomain: string }): ReactNode {
  const { names } = useSession()
  const [trustDomain] = useState(first)
  const [search] = useSearchParameters()
  const template = TEMPLATES.find(({ id }) => id === search.get("template")) ?? TEMPLATES[0]
  const [namespace, given] = [search.get("namespace"), template?.text(names, trustDomain) ?? ""]
  const text = useMemo(
    () => (namespace === null ? given : given.replace("namespace: default", `namespace: ${namespace}`)),
    [namespace, given],
  )
  return (
    <>
      <PageHead title={`New policy: ${template?.wish.replace(/^[A-Z](?![A-Z])/, first => first.toLowerCase())}`} />
      <PolicyEditor key={text} text={text} />
    </>
  )
}
