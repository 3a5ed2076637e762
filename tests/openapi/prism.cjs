// Loaded into Prism before it starts; it has no settings for these two.
//
// What GitHub answers with a redirection is answered so: a proxy that follows it would show its
// client, and the description, something else.
//
// Where a schema cannot be compiled Prism checks nothing by it and says nothing: that is said here,
// so that no request counts as checked that was not.

const { createRequire } = require('node:module');
const cli = createRequire(`${process.cwd()}/node_modules/@stoplight/prism-cli/package.json`);
const http = createRequire(cli.resolve('@stoplight/prism-http'));

const fetching = http('node-fetch');
const fetch = fetching.default;
fetching.default = (url, options) => fetch(url, { ...options, redirect: 'manual' });

for (const name of ['ajv', 'ajv/dist/2019', 'ajv/dist/2020']) {
  const validator = http(name).default.prototype;
  const compile = validator.compile;
  validator.compile = function (...given) {
    try {
      return compile.apply(this, given);
    } catch (error) {
      console.log(`Violation: the description cannot be used: ${error.message}`);
      throw error;
    }
  };
}
