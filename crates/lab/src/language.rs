//! The four languages of the lab: tables of words, and a small grammar that makes sentences from these words.
//!
//! A sentence has subject, verb, object, and sometimes a place or time. Language detectors recognise the language, and
//! two pages rarely share a sentence. All letters exist in Latin-1, because some sites use that character set.

use crate::chance::Chance;

/// One language: its code and its words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Language {
    /// ISO 639-1 code.
    pub(crate) code: &'static str,
    /// Names of sections, used as path components.
    pub(crate) sections: [&'static str; 12],
    /// Words of page names; some are not ASCII.
    pub(crate) slugs: [&'static str; 10],
    nouns: [&'static str; 30],
    verbs: [&'static str; 20],
    places: [&'static str; 16],
    openings: [&'static str; 8],
}

pub(crate) static LANGUAGES: [Language; 4] = [PORTUGUESE, ENGLISH, SPANISH, GERMAN];

#[rustfmt::skip] // one word per line would be harder to read
const PORTUGUESE: Language = Language {
    code: "pt",
    sections: [
        "noticias", "cultura", "historia", "viagens", "ciencia", "desporto", "musica", "livros",
        "cozinha", "jardim", "arquivo", "mapas",
    ],
    slugs: [
        "artigo", "relato", "canção", "entrevista", "visita", "receita", "memória", "estudo",
        "carta", "coração",
    ],
    nouns: [
        "a aranha", "o pescador", "a biblioteca", "o comboio", "a cidade", "o rio", "a professora",
        "o jornal", "a montanha", "o mercado", "a janela", "o barco", "a estação", "o padeiro",
        "a ponte", "o vizinho", "a canção", "o relógio", "a floresta", "o museu", "a criança",
        "o investigador", "a colina", "o castelo", "a coleção", "o inverno", "a praia",
        "o arquivo", "a viúva", "o telhado",
    ],
    verbs: [
        "encontrou", "guardou", "procurava", "esqueceu", "atravessou", "mostrou", "recebeu",
        "perdeu", "descreveu", "conhecia", "abandonou", "protegia", "seguiu", "comprou",
        "desenhou", "visitou", "ouvia", "lembrava", "construiu", "explicou",
    ],
    places: [
        "junto ao mar", "durante a noite", "em Lisboa", "antes da chuva", "no fim do verão",
        "perto da escola", "com muita paciência", "sem qualquer pressa", "depois do almoço",
        "entre duas aldeias", "à sombra das árvores", "na última semana", "há muitos anos",
        "ao longo da estrada", "por causa do vento", "no coração da serra",
    ],
    openings: [
        "Naquele tempo", "Segundo os jornais", "Ainda hoje", "Por outro lado", "No entanto",
        "Dizem que", "Ao contrário do esperado", "Todos os anos",
    ],
};

#[rustfmt::skip] // one word per line would be harder to read
const ENGLISH: Language = Language {
    code: "en",
    sections: [
        "news", "culture", "history", "travel", "science", "sports", "music", "books", "kitchen",
        "garden", "archive", "maps",
    ],
    slugs: [
        "article", "report", "café", "interview", "visit", "recipe", "memoir", "study", "letter",
        "essay",
    ],
    nouns: [
        "the spider", "a fisherman", "the library", "the train", "the city", "a river",
        "the teacher", "the newspaper", "a mountain", "the market", "the window", "a boat",
        "the station", "the baker", "the bridge", "a neighbour", "the song", "the clock",
        "the forest", "a museum", "the child", "the researcher", "a hill", "the castle",
        "the collection", "the winter", "a beach", "the archive", "the widow", "the roof",
    ],
    verbs: [
        "found", "kept", "was looking for", "forgot", "crossed", "showed", "received", "lost",
        "described", "knew", "abandoned", "protected", "followed", "bought", "drew", "visited",
        "listened to", "remembered", "built", "explained",
    ],
    places: [
        "by the sea", "during the night", "in London", "before the rain", "at the end of summer",
        "near the school", "with great patience", "without any hurry", "after lunch",
        "between two villages", "in the shade of the trees", "last week", "many years ago",
        "along the road", "because of the wind", "in the heart of the hills",
    ],
    openings: [
        "At that time", "According to the papers", "Even today", "On the other hand", "However",
        "They say that", "Against all expectation", "Every year",
    ],
};

#[rustfmt::skip] // one word per line would be harder to read
const SPANISH: Language = Language {
    code: "es",
    sections: [
        "noticias", "cultura", "historia", "viajes", "ciencia", "deportes", "musica", "libros",
        "cocina", "jardin", "archivo", "mapas",
    ],
    slugs: [
        "articulo", "relato", "canción", "entrevista", "visita", "receta", "memoria", "estudio",
        "carta", "año",
    ],
    nouns: [
        "la araña", "el pescador", "la biblioteca", "el tren", "la ciudad", "el río",
        "la maestra", "el periódico", "la montaña", "el mercado", "la ventana", "el barco",
        "la estación", "el panadero", "el puente", "el vecino", "la canción", "el reloj",
        "el bosque", "el museo", "la niña", "el investigador", "la colina", "el castillo",
        "la colección", "el invierno", "la playa", "el archivo", "la viuda", "el tejado",
    ],
    verbs: [
        "encontró", "guardó", "buscaba", "olvidó", "cruzó", "mostró", "recibió", "perdió",
        "describió", "conocía", "abandonó", "protegía", "siguió", "compró", "dibujó", "visitó",
        "escuchaba", "recordaba", "construyó", "explicó",
    ],
    places: [
        "junto al mar", "durante la noche", "en Sevilla", "antes de la lluvia",
        "al final del verano", "cerca de la escuela", "con mucha paciencia", "sin ninguna prisa",
        "después de comer", "entre dos pueblos", "a la sombra de los árboles",
        "la semana pasada", "hace muchos años", "a lo largo del camino", "a causa del viento",
        "en el corazón de la sierra",
    ],
    openings: [
        "En aquel tiempo", "Según los periódicos", "Todavía hoy", "Por otra parte",
        "Sin embargo", "Dicen que", "Contra todo pronóstico", "Todos los años",
    ],
};

#[rustfmt::skip] // one word per line would be harder to read
const GERMAN: Language = Language {
    code: "de",
    sections: [
        "nachrichten", "kultur", "geschichte", "reisen", "wissenschaft", "sport", "musik",
        "buecher", "kueche", "garten", "archiv", "karten",
    ],
    slugs: [
        "artikel", "bericht", "frühling", "interview", "besuch", "rezept", "erinnerung",
        "studie", "brief", "größe",
    ],
    nouns: [
        "die Spinne", "das Mädchen", "die Bibliothek", "das Schiff", "die Stadt", "das Dorf",
        "die Lehrerin", "die Zeitung", "das Gebirge", "das Geschäft", "das Fenster", "das Boot",
        "die Brücke", "die Bäckerin", "das Museum", "die Nachbarin", "das Lied", "die Uhr",
        "das Tal", "die Sammlung", "das Kind", "die Forscherin", "die Straße", "das Schloss",
        "das Gedicht", "die Jahreszeit", "die Küste", "das Archiv", "die Witwe", "das Dach",
    ],
    verbs: [
        "fand", "behielt", "suchte", "vergaß", "überquerte", "zeigte", "bekam", "verlor",
        "beschrieb", "kannte", "verließ", "schützte", "verfolgte", "kaufte", "zeichnete",
        "besuchte", "hörte", "vermisste", "baute", "erklärte",
    ],
    places: [
        "am Meer", "während der Nacht", "in Berlin", "vor dem Regen", "am Ende des Sommers",
        "neben der Schule", "mit großer Geduld", "ohne jede Eile", "nach dem Essen",
        "zwischen zwei Dörfern", "im Schatten der Bäume", "in der letzten Woche",
        "vor vielen Jahren", "entlang der Straße", "wegen des Windes", "im Herzen der Berge",
    ],
    openings: [
        "Zu jener Zeit", "Laut den Zeitungen", "Noch heute", "Auf der anderen Seite", "Jedoch",
        "Man sagt", "Gegen alle Erwartung", "In jedem Jahr",
    ],
};

impl Language {
    /// A title of two nouns.
    pub(crate) fn title(&self, chance: &mut Chance) -> String {
        let mut title = String::new();
        push_capital(&mut title, chance.pick(&self.nouns));
        title.push_str(", ");
        title.push_str(chance.pick(&self.nouns));
        title
    }

    /// Appends a paragraph of several sentences with two names. The names have an effect as in human writing: longer
    /// texts have more different words (Heaps' law), and most words of a text also occur in other texts (Zipf's law).
    /// The crawler's trap detection relies on both properties.
    pub(crate) fn paragraph(&self, out: &mut String, chance: &mut Chance) {
        self.sentences(out, chance);
        out.push(' ');
        push_name(out, chance);
        self.predicate(out, chance);
        out.push_str(", ");
        push_name(out, chance);
        out.push('.');
    }

    /// Appends sentences made only of the words in the table.
    pub(crate) fn sentences(&self, out: &mut String, chance: &mut Chance) {
        for _ in 0..3 + chance.below(5) {
            self.sentence(out, chance);
            out.push(' ');
        }
        out.pop();
    }

    fn sentence(&self, out: &mut String, chance: &mut Chance) {
        if chance.percent(35) {
            out.push_str(chance.pick(&self.openings));
            out.push_str(", ");
            out.push_str(chance.pick(&self.nouns));
        } else {
            push_capital(out, chance.pick(&self.nouns));
        }
        self.predicate(out, chance);
        if chance.percent(40) {
            out.push_str(", ");
            out.push_str(chance.pick(&self.nouns));
            self.predicate(out, chance);
        }
        out.push('.');
    }

    fn predicate(&self, out: &mut String, chance: &mut Chance) {
        for part in [chance.pick(&self.verbs), chance.pick(&self.nouns)] {
            out.push(' ');
            out.push_str(part);
        }
        if chance.percent(50) {
            out.push(' ');
            out.push_str(chance.pick(&self.places));
        }
    }
}

/// Names have numbers with at most this number of bits, so there are about four thousand names.
const NAME_BITS: usize = 12;
const NAMES: u64 = 70;

/// Appends one of the names. The probability of the name with number n is proportional to 1/n (Zipf's law).
fn push_name(out: &mut String, chance: &mut Chance) {
    let magnitude = 1 << chance.below(NAME_BITS);
    let number = magnitude + chance.below(magnitude);
    push_invented(out, &mut Chance::of(NAMES, &[number as u64]));
}

/// Appends an invented name: two or three syllables out of 80, and an ending.
fn push_invented(out: &mut String, chance: &mut Chance) {
    const ONSETS: [&str; 16] = [
        "b", "br", "d", "f", "g", "gl", "k", "l", "m", "n", "p", "r", "s", "t", "tr", "v",
    ];
    const ENDINGS: [&str; 8] = ["ndo", "lia", "mir", "ssa", "rten", "vel", "nic", "zar"];
    let begin = out.len();
    for _ in 0..2 + chance.below(2) {
        out.push_str(chance.pick(&ONSETS));
        out.push_str(chance.pick(&["a", "e", "i", "o", "u"]));
    }
    out.push_str(chance.pick(&ENDINGS));
    out[begin..=begin].make_ascii_uppercase();
}

fn push_capital(out: &mut String, text: &str) {
    let mut characters = text.chars();
    out.extend(characters.next().map(|first| first.to_ascii_uppercase()));
    out.push_str(characters.as_str());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_fit_in_latin_1_and_are_distinct() {
        for language in &LANGUAGES {
            let words = [&language.nouns[..], &language.verbs, &language.slugs].concat();
            assert!(words.concat().chars().all(|c| (c as u32) < 256));
            let distinct: HashSet<_> = words.iter().collect();
            assert_eq!(distinct.len(), words.len(), "{}", language.code);
        }
    }

    #[test]
    fn paragraphs_of_different_pages_differ() {
        let mut seen = HashSet::new();
        for page in 0..500 {
            let mut text = String::new();
            LANGUAGES[0].paragraph(&mut text, &mut Chance::of(1, &[page]));
            assert!(text.ends_with('.') && text.len() > 60, "{text}");
            assert!(seen.insert(text));
        }
    }
}
