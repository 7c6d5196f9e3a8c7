// SPDX-License-Identifier: Apache-2.0
// Downloads the certificate of a change, or says why it is not there any more.

import { type ReactNode, useState } from "react"
import type { Answer, HistoryEntry } from "../../api/answers.js"
import { api } from "../../api/client.js"
import { answersPath } from "../../api/queries.js"
import { useSession } from "../../shell/session.js"
import { download } from "../../ui/download.js"

interface Kept {
  readonly evidence: { readonly certificate: string }
}

export function CertificateButton({ of: entry }: { readonly of: HistoryEntry }): ReactNode {
  const { names } = useSession()
  const [trouble, setTrouble] = useState("")
  const { namespace, sequence, digest } = entry
  const name = `${sequence}-${digest.slice(0, 12)}`
  const save = async (): Promise<void> => {
    try {
      const { spec } = await api<Answer<Kept>>(`${answersPath(names, "changes", namespace)}/${name}?evidence=true`)
      download(`${namespace}-${name}.json`, spec.evidence.certificate, "application/json")
      setTrouble("")
    } catch (error) {
      setTrouble(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      <button
        type="button"
        className="quiet"
        aria-label={`Certificate of entry ${name} in ${namespace}`}
        title="Download the certificate of the difference, for proof-check"
        onClick={() => void save()}
      >
        Certificate
      </button>
      {trouble !== "" && <span role="alert">{trouble}</span>}
    </>
  )
}
