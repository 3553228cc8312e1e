// A certified identity provider at which people sign in with a browser, each as whoever they say.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import Provider from 'oidc-provider';

const CLIENT = 'beamkeep-console';
/** How long the access tokens live that are issued from now on, in seconds. */
let lifetime = 3600;

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address();
const issuer = `http://127.0.0.1:${port}`;

const { privateKey } = await crypto.subtle.generateKey(
  { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: 'SHA-256' },
  true,
  ['sign', 'verify'],
);
const { key_ops, ext, ...signingKey } = await crypto.subtle.exportKey('jwk', privateKey);

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: CLIENT,
      application_type: 'web',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: ['http://127.0.0.1/console/'],
    },
  ],
  jwks: { keys: [{ ...signingKey, kid: crypto.randomUUID(), use: 'sig', alg: 'RS256' }] },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: ['for the tests only'] },
  clientBasedCORS: () => true,
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  // Nobody is asked whether the console of their own facility may act for them.
  async loadExistingGrant({ oidc }) {
    const found = oidc.session.grantIdFor(oidc.client.clientId);
    if (found) return provider.Grant.find(found);
    const grant = new provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId });
    grant.addOIDCScope('openid offline_access');
    grant.addResourceScope(oidc.params.resource, '');
    await grant.save();
    return grant;
  },
  features: {
    devInteractions: { enabled: false },
    revocation: { enabled: true },
    // The pages of the library ask another host for fonts.
    rpInitiatedLogout: {
      logoutSource: (ctx, form) => {
        ctx.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
      },
      postLogoutSuccessSource: (ctx) => {
        ctx.body = '<!doctype html><title>Signed out</title><p>You are signed out here, too.</p>';
      },
    },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: '',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL: lifetime,
      }),
    },
  },
});
// The console is at another port in every run, and at several when a proxy stands before it.
provider.Client.prototype.redirectUriAllowed = (address) => {
  const { protocol, hostname, pathname } = new URL(address);
  return protocol === 'http:' && hostname === '127.0.0.1' && pathname === '/console/';
};

const LOGIN = `<!doctype html><title>Sign in</title><link rel="icon" href="data:,">
<form method="post"><label>Login <input name="login" required autofocus></label><button>Sign in</button></form>`;

async function signIn(req, res) {
  if (req.method === 'GET') return res.setHeader('Content-Type', 'text/html').end(LOGIN);
  let body = '';
  for await (const chunk of req) body += chunk;
  const accountId = new URLSearchParams(body).get('login');
  return provider.interactionFinished(req, res, { login: { accountId } }, { mergeWithLastSubmission: false });
}

const answer = provider.callback();
server.on('request', (req, res) => (req.url.startsWith('/interaction/') ? signIn(req, res) : answer(req, res)));

// The parent holds the other end of stdin: when it goes, in whatever way, so does this program.
const told = createInterface({ input: process.stdin }).on('close', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));
console.log(`ready ${issuer}`);

for await (const line of told) {
  const [word, value] = line.split(' ');
  if (word === 'lifetime') lifetime = Number(value);
  if (word === 'leave') {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }
  if (word === 'return') {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  }
  console.log(`did ${line}`);
}
