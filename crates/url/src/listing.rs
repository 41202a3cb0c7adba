//! Directory listings of Apache and similar servers (U5; Viuva Negra 4.1, 5.4): the column headings link to the same
//! list in another order. The query of such a link is `?N=D` in Apache 1.3 and `?C=M;O=A` in later versions. It is
//! removed.

/// Whether the query only sorts a listing. The caller checks that the path ends in `/`.
pub(crate) fn is_reordering(query: &str) -> bool {
    let (first, second) = match query.find([';', '&']) {
        Some(at) => (&query[..at], Some(&query[at + 1..])),
        None => (query, None),
    };
    match second {
        None => is_pair(first, "NMSD", "AD") || is_column(first) || is_order(first),
        Some(second) => {
            (is_column(first) && is_order(second)) || (is_order(first) && is_column(second))
        }
    }
}

fn is_column(parameter: &str) -> bool {
    is_pair(parameter, "C", "NMSD")
}

fn is_order(parameter: &str) -> bool {
    is_pair(parameter, "O", "AD")
}

/// Whether the parameter is `X=Y`, with X among `names` and Y among `values`.
fn is_pair(parameter: &str, names: &str, values: &str) -> bool {
    matches!(parameter.as_bytes(), [name, b'=', value]
        if names.as_bytes().contains(name) && values.as_bytes().contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reorderings() {
        for query in [
            "N=D", "N=A", "M=A", "S=D", "D=A", "C=M;O=A", "C=N&O=D", "O=A;C=S", "C=D", "O=D",
        ] {
            assert!(is_reordering(query), "{query}");
        }
        for query in [
            "",
            "n=d",
            "N=X",
            "N=D&x=1",
            "C=M;O=A;V=1",
            "C=Q;O=A",
            "page=2",
            "C=MM",
        ] {
            assert!(!is_reordering(query), "{query}");
        }
    }
}
