// Runs RocketRML for the benchmark, through parseFileLive of its public API:
//
//   rocket.js batch MAPPING OUTPUT FILE...                   maps files to N-Quads
//   rocket.js message MAPPING OUTPUT FILE WARMUP SECONDS   maps one message again and again
//
// The second prints "messages seconds" of the time after the warm-up,
// and writes what came of the last message.
const fs = require('fs');
const path = require('path');
const { performance } = require('perf_hooks');
const { parseFileLive } = require('rocketrml');

const options = () => ({ toRDF: true, ignoreEmptyStrings: true });
const read = (file) => fs.readFileSync(file, 'utf8');

async function batch(mapping, output, ...files) {
  const inputs = Object.fromEntries(files.map((file) => [path.basename(file), read(file)]));
  fs.writeFileSync(output, await parseFileLive(read(mapping), inputs, options()));
}

async function message(mappingFile, output, file, ...phases) {
  const mapping = read(mappingFile);
  const inputs = { [path.basename(file)]: read(file) };
  let result;
  let line;
  for (const seconds of phases) {
    let messages = 0;
    const start = performance.now();
    let now = start;
    for (; now - start < seconds * 1000; now = performance.now()) {
      result = await parseFileLive(mapping, inputs, options());
      messages++;
    }
    line = `${messages} ${(now - start) / 1000}`;
  }
  fs.writeFileSync(output, result);
  console.log(line);
}

const [mode, ...args] = process.argv.slice(2);
({ batch, message })[mode](...args);
