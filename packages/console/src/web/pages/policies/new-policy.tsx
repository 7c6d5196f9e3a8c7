// SPDX-License-Identifier: Apache-2.0
// A policy that is not there yet, from a template or from what another page has written.

import { type ReactNode, useMemo, useState } from "react"
import { useTrustDomain } from "../../api/queries.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { useSession } from "../../shell/session.js"
import { PolicyEditor } from "./policy-editor.js"
import { TEMPLATES } from "./templates.js"

export default function NewPolicy(): ReactNode {
  const trustDomain = useTrustDomain()
  // What somebody writes would be lost if the text it began with became another.
  return trustDomain === undefined ? <p>Loading…</p> : <Beginning trustDomain={trustDomain} />
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
      <h1>New policy: {template?.wish.toLowerCase()}</h1>
      <PolicyEditor key={text} text={text} />
    </>
  )
}
