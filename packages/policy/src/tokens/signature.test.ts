// SPDX-License-Identifier: Apache-2.0
import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import { describe, expect, it } from "vitest"
import { findAlgorithm } from "./algorithms.js"
import { checkSignature, isUnknownKid, type Signed } from "./signature.js"
import { selfSigned } from "./testing/certificate.js"
import { ALGORITHMS, encode, ISSUER, jwks, NOW, signer } from "./testing/issuer.js"
import { keySet, program, run, verdict } from "./testing/stage.js"
import { parseToken } from "./token.js"

const RSA = generateKeyPairSync("rsa", { modulusLength: 2048 })

/** The parts of a compact signature with any payload. */
function signed(compact: string): Signed {
  const [header = "", payload = "", signature = ""] = compact.split(".")
  const { alg, kid = "" } = JSON.parse(Buffer.from(header, "base64url").toString())
  const algorithm = findAlgorithm(alg)
  if (algorithm === undefined) throw new Error(`no such algorithm: ${alg}`)
  return { algorithm, kid, signingInput: `${header}.${payload}`, signature }
}

function check(compact: string, ...keys: readonly object[]): string {
  const token = parseToken(compact)
  if (typeof token === "string") return token
  return checkSignature(token, keySet(jwks(...keys))) ?? "good"
}

const JOE = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

describe("vectors of the standards", () => {
  const vectors = [
    {
      name: "RFC 7515 appendix A.2, RS256",
      key: {
        kty: "RSA",
        n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        e: "AQAB",
      },
      compact: `eyJhbGciOiJSUzI1NiJ9.${JOE}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw`,
    },
    {
      name: "RFC 7515 appendix A.3, ES256",
      key: {
        kty: "EC",
        crv: "P-256",
        x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
      },
      compact: `eyJhbGciOiJFUzI1NiJ9.${JOE}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q`,
    },
    {
      name: "RFC 7515 appendix A.4, ES512",
      key: {
        kty: "EC",
        crv: "P-521",
        x: "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
        y: "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
      },
      compact:
        "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn",
    },
    {
      name: "RFC 8037 appendix A.4, EdDSA",
      key: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
      compact:
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    },
  ]

  it.each(vectors)("accepts $name", ({ key, compact }) => {
    expect(checkSignature(signed(compact), keySet(jwks(key)))).toBeUndefined()
  })

  it.each(vectors)("rejects $name over another text", ({ key, compact }) => {
    const { signingInput, ...rest } = signed(compact)
    const forged = { ...rest, signingInput: `${signingInput}A` }
    expect(checkSignature(forged, keySet(jwks(key)))).toBe("JwtVerificationFail")
  })
})

describe("every algorithm", () => {
  it.each(ALGORITHMS)("accepts %s as jose signs it", async alg => {
    const issuer = await signer(alg)
    expect(check(await issuer.sign(), issuer.jwk)).toBe("good")
    expect(check(await issuer.sign(), { ...issuer.jwk, alg })).toBe("good")
  })

  // A signature with one algorithm under a header that claims another, for every key.
  it.each(ALGORITHMS)("rejects a %s signature under every other header", async alg => {
    const issuer = await signer(alg)
    const keys = await Promise.all(ALGORITHMS.map(async name => (await signer(name)).jwk))
    const [, payload = "", signature = ""] = (await issuer.sign()).split(".")
    for (const claimed of ALGORITHMS) {
      if (claimed === alg) continue
      for (const kid of [undefined, issuer.kid]) {
        const forged = `${encode({ alg: claimed, kid })}.${payload}.${signature}`
        expect(check(forged, ...keys)).not.toBe("good")
      }
    }
  })

  // Also for a header that the key's owner really signed: then only the key type check rejects it.
  it.each([
    ["RS256", "EC"],
    ["PS512", "EC"],
    ["EdDSA", "EC"],
    ["ES384", "EC"],
    ["ES256", "RSA"],
    ["EdDSA", "RSA"],
    ["ES256", "OKP"],
  ])("never tries a %s token with a key of type %s, alg or no alg in the key", (alg, kty) => {
    const pair =
      kty === "EC"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : kty === "RSA"
          ? RSA
          : generateKeyPairSync("ed25519")
    const input = `${encode({ alg })}.${encode({ iss: ISSUER })}`
    const key = kty === "EC" ? ({ key: pair.privateKey, dsaEncoding: "ieee-p1363" } as const) : pair.privateKey
    const signature = sign(kty === "OKP" ? null : "sha256", Buffer.from(input), key)
    expect(check(`${input}.${signature.toString("base64url")}`, pair.publicKey.export({ format: "jwk" }))).toBe(
      "JwksKidAlgMismatch",
    )
  })

  it("never uses a public key as a shared secret", () => {
    const { publicKey } = RSA
    const jwk = publicKey.export({ format: "jwk" })
    const input = `${encode({ alg: "HS256" })}.${encode({ iss: ISSUER, exp: NOW + 60 })}`
    const secrets = [
      publicKey.export({ type: "spki", format: "pem" }),
      publicKey.export({ type: "spki", format: "der" }),
      publicKey.export({ type: "pkcs1", format: "pem" }),
      JSON.stringify(jwk),
      Buffer.from(String(jwk.n), "base64url"),
    ]
    for (const secret of secrets) {
      const mac = createHmac("sha256", secret).update(input).digest("base64url")
      expect(check(`${input}.${mac}`, jwk)).toBe("JwtHeaderAlgNotSupported")
    }
  })

  it.each([
    "none",
    "None",
    "nOnE",
    "NONE",
    "",
    "HS256",
    "HS384",
    "HS512",
    "rs256",
    "RS256 ",
    "ES256K",
    "Ed25519",
    "RS1",
  ])("rejects the algorithm %j", async alg => {
    const issuer = await signer("RS256")
    const [, payload = "", signature = ""] = (await issuer.sign()).split(".")
    expect(check(`${encode({ alg })}.${payload}.${signature}`, issuer.jwk)).toBe("JwtHeaderAlgNotSupported")
    expect(check(`${encode({ alg })}.${payload}.AAAA`, issuer.jwk)).toBe("JwtHeaderAlgNotSupported")
    expect(check(`${encode({ alg })}.${payload}.`, issuer.jwk)).toBe("JwtBadFormat")
  })
})

describe("choice of the key", () => {
  it("uses the kid if both have one, and tries every key otherwise", async () => {
    const a = await signer("ES256", "a")
    const b = await signer("ES256", "b")
    const { kid: _, ...nameless } = b.jwk
    expect(check(await b.sign(), a.jwk, b.jwk)).toBe("good")
    expect(check(await b.sign(), a.jwk)).toBe("JwksKidAlgMismatch")
    expect(check(await b.sign(), a.jwk, nameless)).toBe("good")
    expect(check(await b.sign({}, { kid: undefined }), a.jwk, b.jwk)).toBe("good")
    expect(check(await b.sign({}, { kid: "" }), a.jwk, b.jwk)).toBe("good")
    expect(check(await b.sign({}, { kid: undefined }), a.jwk)).toBe("JwtVerificationFail")
    expect(check(await b.sign({}, { kid: "a" }), a.jwk, b.jwk)).toBe("JwtVerificationFail")
  })

  it("tries the second of two keys with the same kid", async () => {
    const a = await signer("ES256", "a")
    const b = await signer("ES256", "b")
    expect(check(await b.sign({}, { kid: "a" }), a.jwk, { ...b.jwk, kid: "a" })).toBe("good")
  })

  it("respects the key's own algorithm", async () => {
    const rsa = await signer("RS256")
    expect(check(await rsa.sign(), { ...rsa.jwk, alg: "PS256" })).toBe("JwksKidAlgMismatch")
    expect(check(await rsa.sign(), { ...rsa.jwk, alg: "RS512" })).toBe("JwksKidAlgMismatch")
  })

  it("rejects an Ed25519 signature of the wrong length", async () => {
    const ed = await signer("EdDSA")
    const [header, payload, signature = ""] = (await ed.sign()).split(".")
    expect(check(`${header}.${payload}.${signature.slice(0, -2)}`, ed.jwk)).toBe("JwtEd25519SignatureWrongLength")
    expect(check(`${header}.${payload}.${signature}AAAA`, ed.jwk)).toBe("JwtEd25519SignatureWrongLength")
  })

  it("rejects curve and RSA signatures of the wrong length", async () => {
    for (const alg of ["ES256", "ES512", "RS256", "PS256"] as const) {
      const issuer = await signer(alg)
      const [header, payload, signature = ""] = (await issuer.sign()).split(".")
      const bytes = Buffer.from(signature, "base64url")
      for (const other of [
        Buffer.concat([bytes, Buffer.alloc(1)]),
        bytes.subarray(1),
        bytes.subarray(0, -1),
        Buffer.alloc(1),
      ]) {
        expect(check(`${header}.${payload}.${other.toString("base64url")}`, issuer.jwk)).toBe("JwtVerificationFail")
      }
    }
  })

  it("rejects a PSS signature without its leading zero, although OpenSSL accepts it", () => {
    const key = {
      kty: "RSA",
      n: "mxC-axIth1YAQohGwmgOdz9HBxXipC9WEAoObVizmSnugLAf02XUUjg6HZKF7LecYL1cXRvII027trjBDwO5CwaaIbLg7ulNkbZtkZt5opyDjuQEsnj7MX9fm7X8yeSI9TBtmv-qKf_rB4I8x34bn8B3nBl6f1Q5C8lr8fOOBV27z53xHMvQsFnLewOT3yAFIdgtw6T8N7fHQZ10Bt6VsaF2iVt4AG7kgHT4eQL_pIdfjqIwaozKeOBdXLGdeDqDynGUyW9TCPf1rhIGsd8Rhj69hmJ7E-7nrrnTB6IUkfHLUrARWwJT_m_hP-8JlPJHHIaK9VghNE0SYsbgh5bJVQ",
      e: "AQAB",
    }
    const input = "eyJhbGciOiJQUzI1NiJ9.eyJpc3MiOiJhIiwic3ViIjoiNTkifQ"
    const signature =
      "ANzDUapKnoKGSL8dAk7O_zN_RvwHiMCRr256BdsH6Glr4_gYZGGnZuQAXdML0mF3e3aPhCjL0AMkLuJQSu1dEqekJH5DLYQTz9C8ejlCC5SV15q1Jv2YY6oTQgL_EIeG2aPpsZzBSnAe469L7GnjRe5S50Y68kWCIpNZ4mfXKX-gLkarKEneVY294MZsh5lpRSHz3py-F9v5E3ix_Ka2Md4W8s8nDPeUwTYMpw-fy-gNCF3qtViHL_may7-1QcLepr_vLE1lJplBzo0Rp3eEuJB9ZKY-eDmuJCI_P7KNZOmctFvRSYkThMTaGnm-8TfBqGizYsEarhiflK2jc-4zRA"
    const shorter = Buffer.from(signature, "base64url").subarray(1).toString("base64url")
    expect(check(`${input}.${signature}`, key)).toBe("good")
    expect(check(`${input}.${shorter}`, key)).toBe("JwtVerificationFail")
  })

  it("rejects the all-zero signature of CVE-2022-21449", async () => {
    const issuer = await signer("ES256")
    const token = await issuer.sign()
    const zero = Buffer.alloc(64).toString("base64url")
    expect(check(`${token.slice(0, token.lastIndexOf("."))}.${zero}`, issuer.jwk)).toBe("JwtVerificationFail")
  })

  it("accepts a token of a certificate's key", () => {
    const { publicKey, privateKey } = RSA
    const jwksText = JSON.stringify({ cert: selfSigned(publicKey, privateKey) })
    const input = `${encode({ alg: "RS256", kid: "cert" })}.${encode({ iss: ISSUER, sub: "bob" })}`
    const token = `${input}.${sign("sha256", Buffer.from(input), privateKey).toString("base64url")}`
    const headers = { authorization: `Bearer ${token}` }
    expect(verdict(run(program({ issuer: ISSUER, jwks: jwksText }), { headers }))).toBe("pass as bob")
  })

  it("reports a kid that the set lacks", async () => {
    const set = keySet(jwks((await signer("ES256", "a")).jwk))
    expect(isUnknownKid("b", set)).toBe(true)
    expect(isUnknownKid("a", set)).toBe(false)
    expect(isUnknownKid("", set)).toBe(false)
  })
})
