// SPDX-License-Identifier: Apache-2.0
// Offers existing labels for a selector that selects nothing.

import type { ReactNode } from "react"
import type { NearestLabel } from "./nearest-labels.js"

interface LabelOffersProps {
  readonly offers: readonly NearestLabel[]
  readonly choose: (label: NearestLabel) => void
}

export function LabelOffers({ offers, choose }: LabelOffersProps): ReactNode {
  const wanted = [...new Set(offers.map(offer => offer.wanted))]
  return (
    <section aria-label="Nearest labels" className="warning">
      <p>
        This policy selects no workload: none has{" "}
        {wanted.map(label => (
          <code key={label}>{label}</code>
        ))}
        . Did you mean:
      </p>
      <div className="bar">
        {offers.map(offer => (
          <button type="button" key={`${offer.wanted} ${offer.label}`} onClick={() => choose(offer)}>
            Use {offer.label} ({offer.workload})
          </button>
        ))}
      </div>
    </section>
  )
}

/** Replaces the wanted label with the existing one. The text stays as it is if it contains the label in an unknown form. */
export function replaceLabel(text: string, { wanted, label }: NearestLabel): string {
  const [key = "", value = ""] = wanted.split(/=(.*)/s)
  const [newKey = "", newValue = ""] = label.split(/=(.*)/s)
  const escaped = (word: string): string => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const written = new RegExp(`(["']?)${escaped(key)}\\1:\\s*(["']?)${escaped(value)}\\2(?=[\\s,}]|$)`)
  return text.replace(
    written,
    (_, quote: string, other: string) => `${quote}${newKey}${quote}: ${other}${newValue}${other}`,
  )
}
