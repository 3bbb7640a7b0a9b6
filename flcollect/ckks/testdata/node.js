// Captures what Microsoft SEAL 4.1 writes, by node-seal 5.1.7, in the forms that
// TenSEAL does not make:
//
//     node node.js FOLDER
//
// The files NAME-first and NAME-second are ciphertexts in one compression, NAME-sum
// is 5 times the first and 7 times the second as SEAL adds them. The file seeded is a
// ciphertext of which one half is a seed.
const fs = require('node:fs')
const path = require('node:path')
const SEAL = require('node-seal')

async function main(folder) {
  const seal = await SEAL()
  const parameters = seal.EncryptionParameters(seal.SchemeType.ckks)
  parameters.setPolyModulusDegree(1024)
  parameters.setCoeffModulus(seal.CoeffModulus.Create(1024, Int32Array.from([27])))
  const context = seal.Context(parameters, true, seal.SecurityLevel.tc128)
  const keys = seal.KeyGenerator(context)
  const encryptor = seal.Encryptor(context, keys.createPublicKey(), keys.secretKey())
  const evaluator = seal.Evaluator(context)
  const encoder = seal.CKKSEncoder(context)
  const write = (name, text) => fs.writeFileSync(path.join(folder, name), Buffer.from(text, 'base64'))
  const encrypt = (x) => encryptor.encrypt(encoder.encode(Float64Array.from([x, -x]), 2 ** 16))
  for (const name of ['none', 'zlib', 'zstd']) {
    const mode = seal.ComprModeType[name]
    const first = encrypt(0.5)
    const second = encrypt(0.25)
    let sum = first
    for (let k = 1; k < 12; k++) sum = evaluator.add(sum, k < 5 ? first : second)
    write(name + '-first', first.save(mode))
    write(name + '-second', second.save(mode))
    write(name + '-sum', sum.save(mode))
  }
  const plain = encoder.encode(Float64Array.from([0.5]), 2 ** 16)
  write('seeded', encryptor.encryptSymmetricSerializable(plain).save(seal.ComprModeType.zstd))
}

main(process.argv[2]).catch((error) => {
  console.log(String(error).slice(0, 500))
  process.exit(1)
})
