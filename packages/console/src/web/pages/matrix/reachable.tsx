// SPDX-License-Identifier: Apache-2.0
// The workloads that one identity can reach, proved.

import { type ReactNode, useMemo } from "react"
import type { Ways } from "../../api/answers.js"
import { useQuestion } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { Card } from "../../ui/card.js"
import { useFollowValue } from "../../ui/follow-value.js"
import { Loaded } from "../../ui/loaded.js"
import { More } from "../../ui/more.js"
import { WaysTable } from "../workloads/callers.js"

const MOST = 100

interface ReachableProps {
  /** Identities of running workloads. */
  readonly accounts: readonly string[]
}

export function Reachable(props: ReachableProps): ReactNode {
  const mayAsk = useMayAsk("reach")
  if (mayAsk === undefined) return null
  if (mayAsk) return <Asked {...props} />
  return (
    <p className="hint">
      Proofs need the right to create <code>reach</code>, which the role <code>edit</code> has.
    </p>
  )
}

function Asked({ accounts }: ReachableProps): ReactNode {
  const [search, change] = useSearchParameters()
  const principal = search.get("as") ?? accounts[0]
  const field = useFollowValue(principal ?? "")
  const spec = useMemo(() => ({ principal }), [principal])
  const reach = useQuestion<Ways>("reach", principal === undefined ? undefined : spec)
  return (
    <Card title="What an identity can reach" note="proved">
      <div className="bar">
        <label className="long">
          Identity
          <input
            list="accounts"
            className="long"
            ref={field}
            onBlur={({ target }) => target.value !== "" && change(to => to.set("as", target.value))}
            onKeyDown={({ key, currentTarget }) => key === "Enter" && change(to => to.set("as", currentTarget.value))}
          />
        </label>
        <datalist id="accounts">
          {accounts.slice(0, MOST).map(account => (
            <option key={account}>{account}</option>
          ))}
        </datalist>
      </div>
      <Loaded query={reach}>{answer => <Reached by={answer} />}</Loaded>
    </Card>
  )
}

function Reached({ by }: { readonly by: Ways }): ReactNode {
  return (
    <>
      <WaysTable of={{ ...by, ways: by.ways.slice(0, MOST) }} to />
      <More shown={MOST} of={by.ways.length} hint="`merlonctl what-can` lists all of them" />
    </>
  )
}
