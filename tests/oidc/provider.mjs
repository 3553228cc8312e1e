// A certified identity provider for the tests: signed tokens for one resource, opaque for others.
import { createServer } from 'node:http';
import { once } from 'node:events';
import Provider, { errors } from 'oidc-provider';

const RESOURCES = {
  'https://beamkeep.test': 'jwt',
  'https://other.test': 'jwt',
  'https://keycloak.beamkeep.test': 'jwt',
  'https://opaque.beamkeep.test': 'opaque',
  'https://opaque.other.test': 'opaque',
};

const client = (client_id, client_secret) => ({
  client_id,
  client_secret,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
});

const terminal = {
  client_id: 'beamkeep-cli',
  token_endpoint_auth_method: 'none',
  application_type: 'native',
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  redirect_uris: [],
  response_types: [],
};

const server = createServer();
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const { privateKey } = await crypto.subtle.generateKey(
  { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: 'SHA-256' },
  true,
  ['sign', 'verify'],
);
const { key_ops, ext, ...signingKey } = await crypto.subtle.exportKey('jwk', privateKey);

const provider = new Provider(issuer, {
  clients: [terminal, client('console', 'console-secret'), client('beam keep', 's3cret:+ %')],
  jwks: { keys: [{ ...signingKey, kid: 'first', use: 'sig', alg: 'RS256' }] },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  formats: {
    customizers: {
      // As Keycloak issues them: type JWT, the client in azp, the type of token in the claim typ.
      jwt(ctx, token, jwt) {
        if (token.aud !== 'https://keycloak.beamkeep.test') return;
        const { client_id: azp, ...claims } = jwt.payload;
        jwt.header = { typ: 'JWT' };
        jwt.payload = { ...claims, azp, aud: [token.aud, 'account'], typ: 'Bearer' };
      },
    },
  },
  cookies: { keys: ['for the tests only'] },
  features: {
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: (ctx, asking) => asking.clientId === 'beam keep' },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo(ctx, resource) {
        if (!(resource in RESOURCES)) throw new errors.InvalidTarget();
        return { scope: '', audience: resource, accessTokenFormat: RESOURCES[resource], accessTokenTTL: 3600 };
      },
    },
  },
});

// Whoever opens the page of a code is Lise, and she agrees to everything.
async function agree(req, res) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(req, res);
  if (prompt.name === 'login') {
    return provider.interactionFinished(req, res, { login: { accountId: 'lise' } }, { mergeWithLastSubmission: false });
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope('openid offline_access');
  for (const resource of [params.resource].flat().filter(Boolean)) grant.addResourceScope(resource, '');
  return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

const answer = provider.callback();
server.on('request', (req, res) => (req.url.startsWith('/interaction/') ? agree(req, res) : answer(req, res)));

// The parent holds the other end of stdin: when it goes, in whatever way, so does this program.
process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGTERM', () => process.exit(0));
console.log(`ready ${issuer}`);
