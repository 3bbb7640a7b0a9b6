import io.carml.engine.rdf.RdfRmlMapper;
import io.carml.logicalsourceresolver.CsvResolver;
import io.carml.logicalsourceresolver.JsonPathResolver;
import io.carml.logicalsourceresolver.XPathResolver;
import io.carml.util.RmlMappingLoader;
import io.carml.vocab.Rdf;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.eclipse.rdf4j.model.Statement;
import org.eclipse.rdf4j.rio.RDFFormat;
import org.eclipse.rdf4j.rio.helpers.NTriplesUtil;

/**
 * Runs CARML for the benchmark, through its public API:
 *
 *   Carml batch MAPPING OUTPUT                            maps files of the current folder to N-Triples
 *   Carml message MAPPING OUTPUT MESSAGE WARMUP SECONDS   maps one message again and again with a prepared mapper
 *
 * The second prints "messages seconds" of the time after the warm-up, and writes what came of the last
 * message.
 */
public final class Carml {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "batch" -> batch(mapper(args[1]), Path.of(args[2]));
      case "message" -> message(mapper(args[1]), Path.of(args[2]), Files.readAllBytes(Path.of(args[3])), args[4], args[5]);
      default -> throw new IllegalArgumentException(args[0]);
    }
    System.exit(0); // threads of reactor may be waiting
  }

  private static RdfRmlMapper mapper(String mapping) {
    return RdfRmlMapper.builder()
        .triplesMaps(RmlMappingLoader.build().load(RDFFormat.TURTLE, Path.of(mapping)))
        .setLogicalSourceResolver(Rdf.Ql.JsonPath, JsonPathResolver::getInstance)
        .setLogicalSourceResolver(Rdf.Ql.XPath, XPathResolver::getInstance)
        .setLogicalSourceResolver(Rdf.Ql.Csv, CsvResolver::getInstance)
        .fileResolver(Path.of("."))
        .build();
  }

  private static void batch(RdfRmlMapper mapper, Path output) throws IOException {
    try (BufferedWriter out = Files.newBufferedWriter(output)) {
      mapper.map().doOnNext(s -> write(out, s)).blockLast();
    }
  }

  private static void message(RdfRmlMapper mapper, Path output, byte[] message, String... phases) throws IOException {
    StringBuilder out = new StringBuilder(8192);
    String line = "";
    for (String seconds : phases) {
      long messages = 0, start = System.nanoTime(), now = start;
      for (; now - start < Double.parseDouble(seconds) * 1e9; now = System.nanoTime()) {
        out.setLength(0);
        mapper.map(new ByteArrayInputStream(message)).doOnNext(s -> write(out, s)).blockLast();
        messages++;
      }
      line = String.format(Locale.ROOT, "%d %.6f", messages, (now - start) / 1e9);
    }
    System.out.println(line);
    Files.writeString(output, out);
  }

  private static void write(Appendable out, Statement s) {
    try {
      NTriplesUtil.append(s.getSubject(), out);
      out.append(' ');
      NTriplesUtil.append(s.getPredicate(), out);
      out.append(' ');
      NTriplesUtil.append(s.getObject(), out);
      out.append(" .\n");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
