// A certified OpenID provider for tests: `node provider.mjs PORT REDIRECT_URI`. Whoever logs in is that account; its page
// of logging in takes any password.
import Provider from "oidc-provider";

const [port, redirectUri] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "gitops-bg",
      client_secret: "the-client-secret",
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [new URL("/", redirectUri).href],
    },
  ],
  pkce: { required: () => true },
  scopes: ["openid", "profile", "email", "groups"],
  claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"], groups: ["groups"] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: "Ada Lovelace", email: `${id}@example.com`, email_verified: true, groups: ["devs"] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
